# The lists that a bare GPU machine performs are those of this program.
rehearse validate --lists made
diff -r made "$CASES/../../bench/kernel-lists" && echo 'bench/kernel-lists is as the program writes it'
