// The next segment, and the space of the present one, made ready ahead of time.
extension LogWriter {
    /// Returns the number of bytes to fill with zeros behind a group: as many as the segment has before, so that few
    /// commits pay for them; little behind a large group, which others may follow.
    func bytesToClear(behind end: UInt64, group: Int) -> UInt64 {
        let least = UInt64(max(64 << 10, segmentBytes / 64))
        return group > least ? least : max(least, min(end, UInt64(segmentBytes / 4)))
    }

    /// Whether a spare file is needed: the current segment is half full, or a segment was filled before, and there is
    /// no spare.
    var wantsSpare: Bool {
        guard !isSealed, spare.isEmpty, let segment = segments.last, !foreign.contains(LogFile.sparePath(path)) else {
            return false
        }
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

    /// The paths of the files with numbers, retired ones included.
    var numberedPaths: Set<String> {
        Set(segments.map(\.path) + spare + foreign).subtracting([LogFile.sparePath(path)])
    }

    /// Gives the last spare file the name of a segment, and opens it. Returns nil if there is none.
    func reuseSpare(as target: String) throws(FileError) -> (any File)? {
        while let old = spare.popLast() {
            do throws(FileError) {
                try UnfinishedFiles.whileUnfinished(target) { () throws(FileError) in
                    try fileSystem.rename(old, to: target)
                }
            } catch {
                // Another program has removed it.
                if error.isNotFound { continue }
                spare.append(old)
                throw error
            }
            do throws(FileError) {
                let file = try fileSystem.open(target, .readWrite)
                // Set the access again, because an earlier version may have created the file, or the permissions of
                // the database may have changed.
                if let access = try fileAccess() { file.adopt(access) }
                return file
            } catch {
                // It has the new name and stays a spare file, which the next segment takes.
                spare.append(target)
                throw error
            }
        }
        return nil
    }

    func create(_ path: String) throws(FileError) -> any File {
        let access = try fileAccess()
        return try UnfinishedFiles.whileUnfinished(path) { () throws(FileError) in
            try fileSystem.open(path, .createNew, access: access)
        }
    }

    /// Returns the access rights of the database file, which log files get too.
    func fileAccess() throws(FileError) -> FileAccess? { try dataFile.access()?.forNewFile }

    func noteSpare() { spare.append(LogFile.sparePath(path)) }
}
