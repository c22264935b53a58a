import CPlatform

/// The system's directory for files that are gone with their process.
enum TemporaryDirectory {
    /// `TMPDIR` where it is set, as on Apple systems, else `/tmp`.
    static var path: String? {
        guard let named = getenv("TMPDIR"), named.pointee != 0 else { return "/tmp" }
        var path = String(cString: named)
        while path.count > 1, path.hasSuffix("/") { path.removeLast() }
        return path
    }
}
