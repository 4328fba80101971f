cp "$TASK/solution/settings.toml" "$TASK/solution/load.py" .
rm settings.ini
