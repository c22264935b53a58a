import CPlatform

/// The default cache size of a store, from the memory that its process may use.
enum MemoryShare {
    /// The largest default in bytes.
    static let most: UInt64 = 256 << 20
    /// The smallest default, and the default in an app extension.
    static let least: UInt64 = 4 << 20
    /// The divisor of the available memory.
    static let divisor: UInt64 = 8

    /// Computed once, because the available memory changes while the process runs and options are compared.
    static let defaultBytes = bytes(
        ofAvailable: availableBytes(), isExtension: mako_is_app_extension() != 0)

    /// - Parameter available: the memory that the process may use, in bytes; 0 if unknown.
    static func bytes(ofAvailable available: UInt64, isExtension: Bool) -> Int {
        if isExtension { return Int(least) }
        if available == 0 { return Int(most) }
        return Int(min(most, max(least, available / divisor)))
    }

    static func isExtension(path: String) -> Bool { mako_is_extension_path(path) != 0 }

    private static func availableBytes() -> UInt64 {
        let machine = mako_available_memory()
        #if os(Linux) || os(Android)
            let files = POSIXFileSystem()
            let groups = text(of: "/proc/self/cgroup", on: files) ?? ""
            if let limit = limit(ofGroups: groups, { text(of: $0, on: files) }) {
                return machine == 0 ? limit : min(machine, limit)
            }
        #endif
        return machine
    }

    /// Returns the memory limit of a process's control groups in bytes; nil without a limit.
    ///
    /// - Parameters:
    ///   - groups: the contents of `/proc/self/cgroup`, of either version of control groups.
    ///   - read: returns the text of a file; nil if it does not exist. Inside a container a group's own path may not
    ///     exist; the root is its group then.
    static func limit(ofGroups groups: String, _ read: (String) -> String?) -> UInt64? {
        var limits: [UInt64] = []
        for line in groups.split(separator: "\n") {
            let parts = line.split(separator: ":", maxSplits: 2, omittingEmptySubsequences: false)
            guard parts.count == 3 else { continue }
            let isUnified = parts[0] == "0" && parts[1].isEmpty
            guard isUnified || parts[1].split(separator: ",").contains("memory") else { continue }
            let root = isUnified ? "/sys/fs/cgroup" : "/sys/fs/cgroup/memory"
            let name = isUnified ? "memory.max" : "memory.limit_in_bytes"
            // The limits of the enclosing groups apply too.
            var steps = parts[2].split(separator: "/")[...]
            while true {
                let path = ([root] + steps.map(String.init) + [name]).joined(separator: "/")
                let digits = read(path).map { $0.prefix { $0.isNumber } }
                // Without a limit the file has `max`, or a number near 2^63.
                if let digits, let limit = UInt64(digits), limit < 1 << 60 { limits.append(limit) }
                if steps.isEmpty { break }
                steps.removeLast()
            }
        }
        return limits.min()
    }

    /// Returns the first 4096 bytes of a small system file.
    private static func text(of path: String, on files: POSIXFileSystem) -> String? {
        do throws(FileError) {
            let file = try files.open(path, .readOnly)
            defer { file.close() }
            return String(decoding: try readBytes(file, count: 4096, at: 0), as: UTF8.self)
        } catch { return nil }
    }
}
