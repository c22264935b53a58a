/// What a full-text index makes of texts.
public struct FullTextOptions: Sendable, Hashable {
    public var stemming: Stemming

    public init(stemming: Stemming = .none) { self.stemming = stemming }
}

/// How words are brought to a form that several share.
public enum Stemming: UInt8, Sendable, Hashable {
    /// Words stay as they are.
    case none = 0
    /// English endings are taken off, so that "engines" finds "engine": the Porter2 algorithm.
    case english = 1
}
