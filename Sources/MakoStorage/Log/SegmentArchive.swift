/// The files of log segments that no recovery needs any more, and that replication has not shipped yet.
///
/// Without a limit in bytes it lets go of every file at once, as a store without replication does.
struct SegmentArchive {
    /// The most bytes of such files; 0: none are kept.
    var limitBytes: UInt64 = 0
    private let segmentBytes: UInt64
    /// Ascending.
    private var files: [(number: UInt64, path: String)] = []
    /// Everything before this position is shipped.
    private var shipped: UInt64 = 0

    init(segmentBytes: Int) { self.segmentBytes = UInt64(segmentBytes) }

    var isEmpty: Bool { files.isEmpty }

    mutating func noteShipped(_ lsn: UInt64) { shipped = max(shipped, lsn) }

    /// Whether a segment whose frames end there has some that are not shipped.
    func wants(end: UInt64) -> Bool { limitBytes > 0 && end > shipped }

    /// Takes a file over. Those of one log come in the order of their numbers.
    mutating func append(_ number: UInt64, _ path: String) { files.append((number, path)) }

    /// Takes over those of the files that recovery found, and did not need, which are segments before a position.
    ///
    /// - Returns: the others.
    mutating func adopt(_ paths: [String], of dataFile: String, before lsn: UInt64) -> [String] {
        guard limitBytes > 0 else { return paths }
        let prefix = dataFile + LogFile.infix
        var others: [String] = []
        for path in paths {
            if let number = UInt64(path.dropFirst(prefix.count)), number < lsn / segmentBytes {
                append(number, path)
            } else {
                others.append(path)
            }
        }
        files.sort { $0.number < $1.number }
        return others
    }

    /// Lets go of the oldest files: those that are shipped, and those beyond the limit.
    mutating func release() -> [String] {
        var released: [String] = []
        while let oldest = files.first {
            let isShipped = (oldest.number + 1) * segmentBytes <= shipped
            guard isShipped || UInt64(files.count) * segmentBytes > limitBytes else { break }
            released.append(files.removeFirst().path)
        }
        return released
    }

    /// Lets go of all files.
    mutating func removeAll() -> [String] {
        defer { files = [] }
        return files.map(\.path)
    }
}
