set -eu
git init -q -b main .
git config user.name Task
git config user.email task@example.org
printf 'def greet(name):\n    return f"Hi {name}"\n' > greeting.py
git add -A
git commit -q -m "Greet"
git checkout -q -b limits
printf 'LIMIT = 20\n\n\ndef greet(name):\n    return f"Hi {name}"[:LIMIT]\n' > greeting.py
git commit -q -a -m "Limit the greeting"
git checkout -q main
printf 'def greet(name):\n    return f"Good day, {name}!"\n' > greeting.py
git commit -q -a -m "Be polite"
git merge -q limits > /dev/null || true
