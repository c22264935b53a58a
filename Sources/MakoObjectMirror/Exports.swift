// One import for programs with objects.
@_exported import MakoPostgres
