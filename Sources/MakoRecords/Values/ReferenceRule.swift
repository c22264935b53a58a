/// The delete rule: what happens to referring rows when a row is deleted.
public enum ReferenceRule: UInt8, Sendable, Hashable {
    /// The reference becomes NULL; a collection loses the key.
    case nullify
    /// The referring rows are deleted, too.
    case cascade
    /// The deletion fails if there are referring rows.
    case deny
}
