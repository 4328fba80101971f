cp -R "$TASK/solution/." .
