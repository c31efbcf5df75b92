# Figures that a model computes, made equal before comparing: what a golden holds is words, lines and units. A
# figure is a number with a decimal point or commas, or one with a unit behind it; it becomes #, its sign and unit
# stay. Layouts, counts, names, versions and dates are compared as they stand, and so are commands, what is said of
# wrong input, and the lines of files that it shows.
/^(\$|==) /b
/^(error|help): /b
/^ *[0-9]* \|( |$)/b
:figure
# 68.7, 1,234.5, 1.2e-05, 59,590
s/(^|[^A-Za-z0-9_.#-]|[^A-Za-z0-9_.#]-|^-)[0-9]+((,[0-9]{3})+(\.[0-9]+)?|\.[0-9]+)(e[-+]?[0-9]+)?($|[^A-Za-z0-9_.-]|[.-]($|[^A-Za-z0-9_])|(%|[kMGTP]?i?B|[kMG]?W|x|s|ms|us|h)($|[^A-Za-z0-9_]))/\1#\6/
tfigure
# 149 us, 16 %, 24 GiB; "tokens_per_usd": 198838436
s/(^|[^A-Za-z0-9_.#-]|[^A-Za-z0-9_.#]-|^-)[0-9]+( ?(%|(ns|us|ms|s|min|h|hours|days|[kMGTP]?i?B|[kMGTPE]?FLOP|[kMG]?W|[kM]?J|[kMG]?Wh|\$|USD|tok|tokens|requests|per)($|[^A-Za-z0-9_])))/\1#\2/
tfigure
s/(_per_[a-z]+": )[0-9]+/\1#/
# Columns are as wide as their widest figure, and bars as long as what they stand for.
s/[█▏▎▍▌▋▊▉]+/=/g
s/([^ ])   +/\1  /g
s/ +$//
