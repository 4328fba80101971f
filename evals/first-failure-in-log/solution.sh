echo "Request r0517 of margaret, with status 503."
