/// The guarantee that a flush gives for a group once it is written.
enum FlushLevel: Comparable {
    /// None.
    case written
    /// The device stores the group before all later writes.
    case ordered
    /// The group survives a power failure.
    case durable
}
