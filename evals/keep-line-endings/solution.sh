cp "$CHECKS/app.ini" app.ini
