/// When the files of a database can be read and written on a device with a passcode: Apple's classes of data protection.
///
/// Other systems have nothing of the kind, nor have most volumes of a Mac: files are as they always are there.
public enum FileProtection: Sendable, Hashable {
    /// Only while the device is unlocked. On a locked one a transaction that needs the files fails with ``StorageError/protected(path:)``,
    /// and succeeds when it is run again after the device was unlocked.
    case complete
    /// Files that are open stay usable on a locked device, and new ones can be made; others cannot be opened.
    case completeUnlessOpen
    /// From the first unlocking after a start of the device on. Files have this class unless the app or its container says otherwise.
    case completeUntilFirstUserAuthentication
    /// Always.
    case none

    /// What the kernel calls the class.
    var number: Int32 {
        switch self {
        case .complete: 1
        case .completeUnlessOpen: 2
        case .completeUntilFirstUserAuthentication: 3
        case .none: 4
        }
    }
}

/// What files are given when they are opened for writing, new ones before they have a byte. Nil leaves them as they are.
public struct FileAttributes: Sendable, Hashable {
    public var protection: FileProtection?
    /// Whether the backups that the system makes leave the file out. Apple systems alone know of this.
    public var isExcludedFromBackup: Bool?

    public init(protection: FileProtection? = nil, isExcludedFromBackup: Bool? = nil) {
        self.protection = protection
        self.isExcludedFromBackup = isExcludedFromBackup
    }
}
