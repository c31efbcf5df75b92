# Every key: tests/strategies/layout_test.c
s/^(note: keys: tp pp dp) .*/\1 .../
