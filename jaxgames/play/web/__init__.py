"""The page on which people play: a server for this machine, and the files of the page."""
