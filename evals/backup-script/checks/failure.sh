set -u
script=$PWD/backup.sh
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder" || exit 1
mkdir data && echo 1 > data/a.txt && echo 2 > data/b.txt
# A file where the folder should be.
echo > data.bak
if sh "$script" data 2>/dev/null; then
  echo "the script exits with 0"
  exit 1
fi
