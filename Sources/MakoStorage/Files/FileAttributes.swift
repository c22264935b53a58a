/// When the files of a database are accessible on a device with a passcode: Apple's data protection classes.
///
/// Other systems, and most volumes of a Mac, have no protection classes; files are unprotected there.
public enum FileProtection: Sendable, Hashable {
    /// Only while the device is unlocked. On a locked device a transaction that needs the files fails with
    /// ``StorageError/protected(path:)``, and succeeds when it is run again after the unlock.
    case complete
    /// Open files stay usable on a locked device, and new files can be created; other files cannot be opened.
    case completeUnlessOpen
    /// From the first unlock after a start of the device on. The default, unless the app or its container says
    /// otherwise.
    case completeUntilFirstUserAuthentication
    /// Always.
    case none

    /// The kernel's number of the class.
    var number: Int32 {
        switch self {
        case .complete: 1
        case .completeUnlessOpen: 2
        case .completeUntilFirstUserAuthentication: 3
        case .none: 4
        }
    }
}

/// Attributes that files get when they are opened for writing; new files before their first byte. Nil leaves an
/// attribute unchanged.
public struct FileAttributes: Sendable, Hashable {
    /// The data protection class.
    public var protection: FileProtection?
    /// Whether the system's backups exclude the file. Only Apple platforms support it.
    public var isExcludedFromBackup: Bool?

    /// Creates attributes.
    public init(protection: FileProtection? = nil, isExcludedFromBackup: Bool? = nil) {
        self.protection = protection
        self.isExcludedFromBackup = isExcludedFromBackup
    }
}
