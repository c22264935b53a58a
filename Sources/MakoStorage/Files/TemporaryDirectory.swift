import CPlatform

/// The system's directory for temporary files.
enum TemporaryDirectory {
    /// `TMPDIR` if it is set and UTF-8, as on Apple platforms, else `/tmp`.
    static var path: String? {
        guard let named = getenv("TMPDIR"), named.pointee != 0 else { return "/tmp" }
        guard var path = String(validatingCString: named) else { return "/tmp" }
        while path.count > 1, path.hasSuffix("/") { path.removeLast() }
        return path
    }
}
