module onair.example/onair

go 1.24
