// The next segment, made ready ahead of time.
extension LogWriter {
    /// Whether a spare file is needed: the current segment is half full, or a segment was filled before, and there is
    /// no spare.
    var wantsSpare: Bool {
        guard !isSealed, spare.isEmpty, let segment = segments.last else { return false }
        return hasFilledSegment
            || position.lsn > segment.number * UInt64(segmentBytes) + UInt64(segmentBytes / 2)
    }

    /// Creates a spare segment file. Shares no state with committers.
    func makeSpare() throws(FileError) {
        let file = try create(LogFile.sparePath(path))
        defer { file.close() }
        do throws(FileError) {
            try file.writeZeros(0..<UInt64(segmentBytes))
            try file.sync()
        } catch {
            // Remove the incomplete file, because it would take disk space that others need.
            try? fileSystem.remove(LogFile.sparePath(path))
            throw error
        }
    }

    func create(_ path: String) throws(FileError) -> any File {
        let access = try fileAccess()
        return try UnfinishedFiles.whileUnfinished(path) { () throws(FileError) in
            try fileSystem.open(path, .create, access: access)
        }
    }

    /// Returns the access rights of the database file, which log files get too.
    func fileAccess() throws(FileError) -> FileAccess? { try dataFile.access()?.forNewFile }

    func noteSpare() { spare.append(LogFile.sparePath(path)) }
}
