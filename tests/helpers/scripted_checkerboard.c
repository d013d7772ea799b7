/* An engine with CheckerBoard's interface that does as SCRIPT says: "CELL=VALUE CELL=VALUE ..." are written into the
   board, "crash" and "silent" are faults. It appends what it is asked to the file SCRIPT_LOG if that is set. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

int getmove(int board[64], int color, double maxtime, char text[255], int *playnow, int info, int moreinfo, void *move)
{
    char *script = getenv("SCRIPT"), *log = getenv("SCRIPT_LOG");
    int cell, value, length;
    if (log) {
        FILE *file = fopen(log, "a");
        fprintf(file, "%d %g", color, maxtime);
        for (cell = 0; cell < 64; cell++)
            fprintf(file, " %d", board[cell]);
        fprintf(file, "\n");
        fclose(file);
    }
    printf("a library may print what it likes\n");
    if (strcmp(script, "crash") == 0)
        abort();
    if (strcmp(script, "silent") == 0)
        sleep(60);
    for (; sscanf(script, "%d=%d%n", &cell, &value, &length) == 2; script += length)
        board[cell] = value;
    return 3;
}
