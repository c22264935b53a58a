// Deliberate bugs, to see which test notices them. `Tests/Sabotage.txt` names them all; `make sabotage` makes a build
// of its own in which one at a time can be switched on. In every other build the question below is a constant: neither
// the bugs nor their names are in the program.

#if SABOTAGE
    import CPlatform

    private let chosen: [UInt8] = getenv("MAKO_SABOTAGE").map { Array(String(cString: $0).utf8) } ?? []

    /// Whether the bug of this name was chosen by the environment variable `MAKO_SABOTAGE`.
    package func sabotaged(_ bug: StaticString) -> Bool {
        bug.utf8CodeUnitCount == chosen.count && bug.withUTF8Buffer { $0.elementsEqual(chosen) }
    }
#else
    /// No bug is there to be chosen. Inlined everywhere, it leaves nothing behind in an optimised build.
    @inline(__always)
    func sabotaged(_ bug: StaticString) -> Bool { false }
#endif
