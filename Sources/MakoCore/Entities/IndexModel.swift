import MakoRecords

/// One property of an index, with its order or without regard to case.
public struct IndexKey<Root: Entity> {
    let keyPath: PartialKeyPath<Root>
    let descending: Bool
    let noCase: Bool

    /// A property in ascending order.
    public static func ascending(_ keyPath: PartialKeyPath<Root>) -> IndexKey {
        IndexKey(keyPath: keyPath, descending: false, noCase: false)
    }
    /// A property in descending order.
    public static func descending(_ keyPath: PartialKeyPath<Root>) -> IndexKey {
        IndexKey(keyPath: keyPath, descending: true, noCase: false)
    }
    /// A text property without regard to case.
    public static func ignoringCase(_ keyPath: PartialKeyPath<Root>) -> IndexKey {
        IndexKey(keyPath: keyPath, descending: false, noCase: true)
    }
}

/// An index of an entity.
public struct IndexModel: @unchecked Sendable {
    // Unchecked: key paths are immutable, but `AnyKeyPath` is not marked Sendable.
    struct Part {
        let keyPath: AnyKeyPath
        let descending: Bool
        let noCase: Bool
    }
    let parts: [Part]
    let isUnique: Bool
    /// The condition of a partial index; nil: the index has all objects.
    let condition: String?
    /// The options of a full-text index; nil for other indexes.
    var fullText: FullTextOptions?
}
