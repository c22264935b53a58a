/// Who may open a file: its owner, its group, and what they and others may do.
public struct FileAccess: Sendable, Hashable {
    /// The nine permission bits, as `chmod` takes them.
    public var permissions: UInt16
    public var owner: UInt32
    public var group: UInt32

    public init(permissions: UInt16, owner: UInt32, group: UInt32) {
        self.permissions = permissions
        self.owner = owner
        self.group = group
    }

    /// The access of a file that is made beside or from one with this: the same, but that its owner may write to it.
    var forNewFile: FileAccess {
        FileAccess(permissions: permissions | 0o600, owner: owner, group: group)
    }

    /// The access of a file that only this process is to see.
    var ofOwnerAlone: FileAccess { FileAccess(permissions: 0o600, owner: owner, group: group) }

    /// The permissions that remain when the group cannot be set: those of the group are not for another one.
    var permissionsOfOtherGroup: UInt16 { permissions & ~0o070 | permissions & (permissions & 0o007) << 3 }
}
