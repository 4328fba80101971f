echo "The commit 'Round each price' broke it."
