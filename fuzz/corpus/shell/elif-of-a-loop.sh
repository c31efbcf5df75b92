for x in a b; elif [[ 1 ]]; do echo $x; done
