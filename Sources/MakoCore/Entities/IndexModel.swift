import MakoRecords

/// One property of an index, with its order or without regard to case.
public struct IndexKey<Root: Entity> {
    let keyPath: PartialKeyPath<Root>
    let descending: Bool
    let noCase: Bool

    public static func ascending(_ keyPath: PartialKeyPath<Root>) -> IndexKey {
        IndexKey(keyPath: keyPath, descending: false, noCase: false)
    }
    public static func descending(_ keyPath: PartialKeyPath<Root>) -> IndexKey {
        IndexKey(keyPath: keyPath, descending: true, noCase: false)
    }
    public static func ignoringCase(_ keyPath: PartialKeyPath<Root>) -> IndexKey {
        IndexKey(keyPath: keyPath, descending: false, noCase: true)
    }
}

/// An index of an entity.
public struct IndexModel: @unchecked Sendable {
    // Unchecked: key paths are immutable, but `AnyKeyPath` does not say so.
    struct Part {
        let keyPath: AnyKeyPath
        let descending: Bool
        let noCase: Bool
    }
    let parts: [Part]
    let isUnique: Bool
    /// Which objects it holds, as a condition in text; nil: all.
    let condition: String?
    /// For an index of words.
    var fullText: FullTextOptions?
}
