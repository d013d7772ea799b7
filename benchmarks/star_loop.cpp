// Chinese Checkers on the star board with six seats, at most 200 rounds: uniformly random legal play, written by hand for
// one core. It shows the speed of a compiled loop that does the same work as the batched environment. It writes out the
// full legal mask (six directions per cell, and the end of the turn) and the observation at every submove.
//   g++ -O3 -march=native -o star_loop star_loop.cpp && echo 1.5 seconds | ./star_loop 4
// plays on a star of size 4. Each line of standard input is "S seconds" or "N steps"; the answer is the steps per second
// and the mean number of legal actions. Steps are made in units of ten thousand, always from the same random numbers;
// the next line continues the same games.
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <vector>

static uint64_t rng_state = 88172645463325252ull;
static inline uint32_t random_u32() {  // xorshift64
  rng_state ^= rng_state << 13; rng_state ^= rng_state >> 7; rng_state ^= rng_state << 17;
  return rng_state >> 32;
}

constexpr uint8_t OUTSIDE = 255, EMPTY = 254;  // else the owner's seat, counted clockwise from the mover

struct Star {  // axial cells (q, r) in a padded square of side G + 4, in the mover's frame
  int G, W, offset[6];
  std::vector<int> cells, rotated;  // rotated[c]: the cell that moves to c when the board rotates to the next seat
  std::vector<uint8_t> goal, start;
  explicit Star(int N) : G(4 * N + 1), W(G + 4), rotated(W * W), goal(W * W), start(W * W, OUTSIDE) {
    auto id = [&](int q, int r) { return (q + 2 * N + 2) * W + r + 2 * N + 2; };
    const int D[6][2] = {{1, 0}, {1, -1}, {0, -1}, {-1, 0}, {-1, 1}, {0, 1}};
    for (int d = 0; d < 6; d++) offset[d] = D[d][0] * W + D[d][1];
    std::vector<uint8_t> home(W * W);
    for (int q = -2 * N; q <= 2 * N; q++)
      for (int r = -2 * N; r <= 2 * N; r++) {
        int s = -q - r;
        if (abs(s) > 2 * N) continue;
        rotated[id(q, r)] = id(-r, -s);
        bool star = (q <= N && r <= N && s <= N) || (q >= -N && r >= -N && s >= -N);
        if (!star) continue;
        cells.push_back(id(q, r)); start[id(q, r)] = EMPTY;
        home[id(q, r)] = r < -N; goal[id(q, r)] = r > N;
      }
    for (int seat = 0; seat < 6; seat++) {
      std::vector<uint8_t> next(W * W);
      for (int c : cells) if (home[c]) { start[c] = seat; next[rotated[c]] = 1; }
      home = next;
    }
  }
};

static bool play(int N) {  // false: a line that is neither
  const Star star(N);
  const int G = star.G, W = star.W, CELLS = star.cells.size(), END = 6 * CELLS;
  std::vector<uint8_t> board = star.start, next_frame(W * W), visited(W * W), mask(END + 1), obs(G * G * 8);
  std::vector<int> legal(END + 1);  // 6 * (index of the cell) + direction
  int last = -1, turns = 0;         // last: the cell of the peg that hops in this turn
  long checksum = 0;
  double amount;
  char unit[8];
  int read;
  while ((read = std::scanf("%lf %7s", &amount, unit)) == 2) {
    bool timed = !std::strcmp(unit, "seconds");
    if (!timed && std::strcmp(unit, "steps")) return false;
    long steps = 0, choices = 0;
    double spent = 0;
    auto begin = std::chrono::steady_clock::now();
    do {
      for (int i = 0; i < 10000; i++, steps++) {
        std::memset(mask.data(), 0, mask.size());
        int n = 0;
        for (int k = 0; k < CELLS; k++) {
          int c = star.cells[k];
          if (board[c] != 0 || (last >= 0 && c != last)) continue;
          for (int d = 0; d < 6; d++) {
            int a = c + star.offset[d], b = a + star.offset[d];
            bool step = board[a] == EMPTY && last < 0;
            if (step || (board[a] < 6 && board[b] == EMPTY && !visited[b])) {
              mask[6 * k + d] = 1;
              legal[n++] = 6 * k + d;
            }
          }
        }
        if (last >= 0 || n == 0) { mask[END] = 1; legal[n++] = END; }
        choices += n;
        std::memset(obs.data(), 0, obs.size());
        for (int c : star.cells) {
          int at = ((c / W - 2) * G + c % W - 2) * 8;
          if (board[c] < 6) obs[at + board[c]] = 1;
          obs[at + 6] = visited[c]; obs[at + 7] = c == last;
        }
        checksum += obs[random_u32() % obs.size()] + mask[random_u32() % mask.size()];

        int action = legal[random_u32() % n];
        bool end_turn = true;
        if (action != END) {
          int c = star.cells[action / 6], near = c + star.offset[action % 6], hop = board[near] < 6;
          int to = hop ? near + star.offset[action % 6] : near;
          board[c] = EMPTY; board[to] = 0;
          if (hop) { visited[c] = 1; last = to; end_turn = false; }
        }
        bool won = true;
        for (int c : star.cells) if (star.goal[c] && board[c] != 0) { won = false; break; }
        if (end_turn) {
          std::memset(visited.data(), 0, visited.size()); last = -1; turns++;
          std::memset(next_frame.data(), OUTSIDE, next_frame.size());
          for (int c : star.cells) { uint8_t v = board[star.rotated[c]]; next_frame[c] = v < 6 ? (v + 5) % 6 : v; }
          std::swap(board, next_frame);
        }
        if (won || turns >= 6 * 200) {
          board = star.start; std::memset(visited.data(), 0, visited.size()); last = -1; turns = 0;
        }
      }
      spent = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
    } while ((timed ? spent : steps) < amount);
    std::printf("%.0f %.4f\n", steps / spent, double(choices) / steps);
    std::fflush(stdout);
  }
  if (checksum < 0) std::puts("");
  return read == EOF;
}

int main(int count, char** words) {
  int size = count == 2 ? atoi(words[1]) : 0;
  if (size >= 1 && size <= 8 && play(size)) return 0;
  std::fprintf(stderr, "usage: echo 1.5 seconds | star_loop SIZE, a size from 1 to 8; or 20000 steps\n");
  return 2;
}
