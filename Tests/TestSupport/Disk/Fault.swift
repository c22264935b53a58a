import CPlatform

/// The fault of a simulated disk at one call.
public enum Fault: Sendable, Hashable {
    /// The call fails with this `errno`. A write may have put some of its sectors in place.
    case error(Int32)
    /// This call fails, and from then on every call that changes the disk; with `ENOSPC`, that needs space.
    case persistentError(Int32)
    /// The power goes before the call has any effect.
    case crashBefore
    /// The power goes when the call has had its effect but has not returned.
    case crashAfter
    case syncFails(SyncFailure)
    /// A sync reports success and makes nothing durable, as a drive does that keeps what it should flush. What a later sync
    /// reaches becomes durable then.
    case syncLies
    /// A read or write moves only so many bytes, at least one, and reports so. `File` calls again for the rest: another call.
    case short(Int)
    /// A signal interrupts the call before it has any effect. It is made again, as another call.
    case interrupted
    /// The system refuses the call with `EPERM`, before it has any effect.
    case refused
    /// A write reports success and does nothing.
    case loseWrite
    /// A write lands so many bytes from where it should.
    case misdirectWrite(by: Int64)
    /// A read gives what the file held before its last successful sync.
    case staleRead
    /// One wrong bit in the bytes of a read or a write, counted from the first byte of the call's buffer.
    case flipBit(Int)

    /// An input/output error.
    public static let inputOutput = Fault.error(EIO)
    /// A full disk.
    public static let noSpace = Fault.error(ENOSPC)
    /// The device stays full from this call on.
    public static let staysFull = Fault.persistentError(ENOSPC)
    static let inputOutputCode = EIO
    static let noSpaceCode = ENOSPC

    var isSyncFailure: Bool {
        if case .syncFails = self { true } else { false }
    }
}

/// The three ways in which systems are known to fail at a sync. In each, some of the sectors may have become durable;
/// the others count as clean afterwards. Each handle of the file that was open at the failure, in this process or
/// another, reports it at its next sync; syncs after that succeed without writing those sectors.
public enum SyncFailure: Sendable, Hashable, CaseIterable {
    /// The error is reported; reads still give the new content until the power goes.
    case keepsNewContent
    /// The error is reported; reads give the old content again.
    case restoresOldContent
    /// The failed sync reports success, the next one the error.
    case reportsLate
}

/// A call to a simulated disk, as the fault planner sees it.
public enum CallKind: String, Sendable, Hashable, CaseIterable {
    case open, remove, rename, list, syncDirectory, size, read, write, resize, sync, lock

    /// Whether the call can change what a crash leaves behind.
    public var changesDisk: Bool {
        switch self {
        case .open, .remove, .rename, .syncDirectory, .write, .resize, .sync: true
        case .list, .size, .read, .lock: false
        }
    }

    /// Whether a full device can make the call fail.
    public var needsSpace: Bool { self == .write || self == .resize || self == .open }

    /// Whether a protected file refuses the call while the device is locked.
    var needsContent: Bool {
        switch self {
        case .open, .read, .write, .resize, .sync: true
        case .remove, .rename, .list, .syncDirectory, .size, .lock: false
        }
    }

    /// Whether the call makes something durable.
    public var isSync: Bool { self == .sync || self == .syncDirectory }
}
