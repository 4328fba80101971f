set -eu
git init -q -b main .
git config user.name Task
git config user.email task@example.org
commit() {
  git add -A
  git commit -q -m "$1"
}
printf 'PRICES = [10.4, 20.4, 29.2]\n' > prices.py
printf 'from prices import PRICES\n\nprint(round(sum(PRICES)))\n' > total.py
commit "Add the total"
for number in 1 2 3 4 5; do
  echo "note $number" > "note$number.md"
  commit "Add note $number"
done
printf 'from prices import PRICES\n\nprint(sum(round(price) for price in PRICES))\n' > total.py
commit "Round each price"
for number in 6 7 8 9 10; do
  echo "note $number" > "note$number.md"
  commit "Add note $number"
done
