// The question of `Sources/MakoStorage/Sabotage.swift` for this room: a constant must not be looked up in another one.

#if SABOTAGE
    import MakoStorage

    func sabotaged(_ bug: StaticString) -> Bool { MakoStorage.sabotaged(bug) }
#else
    @inline(__always)
    func sabotaged(_ bug: StaticString) -> Bool { false }
#endif
