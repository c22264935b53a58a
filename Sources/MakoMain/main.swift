import MakoCommand

#if Studio
    import MakoStudio

    StudioServing.use { try StudioServer.serve($0) }
#endif

// The program's entry point is a module of its own so that tests can import everything else.
MakoProgram.start()
