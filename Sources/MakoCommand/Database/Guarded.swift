import MakoStorage

/// The lock of the engine, for the program's other modules, which do not import it.
package typealias Guarded = MakoStorage.Guarded
