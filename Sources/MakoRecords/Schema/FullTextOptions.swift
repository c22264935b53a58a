/// The options of a full-text index.
public struct FullTextOptions: Sendable, Hashable {
    /// The stemming of words.
    public var stemming: Stemming

    /// Makes options.
    package init(stemming: Stemming = .none) { self.stemming = stemming }
}

/// How a full-text index reduces words to stems.
public enum Stemming: UInt8, Sendable, Hashable {
    /// Words are indexed unchanged.
    case none = 0
    /// English suffixes are removed, so that "engines" finds "engine": the Porter2 algorithm.
    case english = 1
}
