"""The experiments of El Kaddouri, Rys and Gao 2024 on Dots and Boxes; docs/papers/dots_and_boxes.md."""
