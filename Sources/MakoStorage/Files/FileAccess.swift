/// The access rights of a file: its owner, its group and its permissions.
public struct FileAccess: Sendable, Hashable {
    /// The nine permission bits, as for `chmod`.
    public var permissions: UInt16
    /// The user id of the owner.
    public var owner: UInt32
    /// The id of the group.
    public var group: UInt32

    /// Creates access rights.
    public init(permissions: UInt16, owner: UInt32, group: UInt32) {
        self.permissions = permissions
        self.owner = owner
        self.group = group
    }

    /// The access rights of a file created from one with these: the same, but writable for the owner.
    var forNewFile: FileAccess {
        FileAccess(permissions: permissions | 0o600, owner: owner, group: group)
    }

    /// The access rights of a file for this process only.
    var ofOwnerAlone: FileAccess { FileAccess(permissions: 0o600, owner: owner, group: group) }

    /// The permissions if the group cannot be set: the rights of the group must not go to another group.
    var permissionsOfOtherGroup: UInt16 { permissions & ~0o070 | permissions & (permissions & 0o007) << 3 }
}
