set -eu
script=$PWD/backup.sh
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
line=$(printf 'two\nlines.txt')
mkdir -p "my data/sub folder"
echo 1 > "my data/a b.txt"
echo 2 > "my data/sub folder/-n.txt"
echo 3 > "my data/$line"
echo 4 > "my data/other.md"
sh "$script" "my data"
test "$(cat "my data.bak/a b.txt")" = 1
test "$(cat "my data.bak/sub folder/-n.txt")" = 2
test "$(cat "my data.bak/$line")" = 3
test ! -e "my data.bak/other.md"
mkdir ./-x && echo 5 > ./-x/5.txt
sh "$script" ./-x
test "$(cat ./-x.bak/5.txt)" = 5
