import MakoCommand

// The program's entry point stands alone so that tests can import everything else.
MakoProgram.start()
