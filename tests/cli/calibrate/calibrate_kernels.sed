# Fitted figures may differ in their last digits from one libm to another: their form is compared.
s/[0-9]+(\.[0-9]+)?e-[0-9]+/N/g
/^(  gemm|  attention|  device|errors|constant|worst|  +heads)/s/[0-9]+\.[0-9]+|\b[0-9]+ us|[-+][0-9]+( %|$)|\b(0|1)\b|\b[0-9]{3,}\b/N/g
/^(  gemm|  attention|  device|errors|constant)/s/ +/ /g
s/[0-9.]+ us/N us/g
s/[0-9]+\.[0-9]%/N%/g
/^worst/s/, .*/, ROW/
/^    heads=/d
s/(recorded|performed now) [0-9.]+ s/\1 N s/g
/^    (launch|compute)/s/[0-9]+\.[0-9]+/N/g
/^    apart/s/[0-9]+\.[0-9]+/N/g
/^correction/s/[0-9]+\.[0-9]+/N/g
/^    without/s/[0-9]+\.[0-9]+/N/g
