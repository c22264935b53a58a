/// What becomes of the rows that refer to a row when that row is deleted.
public enum ReferenceRule: UInt8, Sendable, Hashable {
    /// Their reference becomes NULL; a collection loses the key.
    case nullify
    /// They are deleted as well.
    case cascade
    /// The deletion is refused while there are any.
    case deny
}
