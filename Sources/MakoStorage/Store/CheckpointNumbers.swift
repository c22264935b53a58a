/// Cross-checks the numbers of a checkpoint: a page with a valid checksum may still have values that no checkpoint has.
///
/// A checkpoint with contradictions is not used, because writing on top of it could overwrite pages in use, assign a
/// number twice, or make the file unreadable.
struct CheckpointNumbers {
    let header: FileHeader
    let meta: Meta

    /// The limit of counters in a database that is opened for writing, so that later values stay below the limit for
    /// reading.
    static let writableLimit: UInt64 = counterLimit / 2

    /// How the meta contradicts the header; nil if it does not.
    var contradiction: String? {
        if meta.point >= header.highWaterMark || meta.directory.firstWriteID >= header.highWaterMark {
            return "it is of a time that the header block does not vouch for"
        }
        if meta.nextTreeID == 0 || meta.nextTreeID > UInt64(UInt32.max) {
            return "\(meta.nextTreeID) cannot be the number of the next tree"
        }
        if meta.log.lsn / header.segmentBytes >= SegmentHeader.numberLimit {
            return "its log goes on in a segment that no log has"
        }
        return nil
    }

    /// Returns how the directory contradicts the meta or the header; nil if it does not.
    func contradiction(in directory: Directory) -> String? {
        if let last = directory.trees.last, UInt64(last.id) >= meta.nextTreeID {
            return "tree \(last.id) is not below the number of the next tree, \(meta.nextTreeID)"
        }
        if directory.regions.contains(where: { $0.writeID >= header.highWaterMark }) {
            return "a bitmap is of a time that the header block does not vouch for"
        }
        return nil
    }

    /// The counter that leaves no space for further commits; nil if none does.
    var exhausted: String? {
        let counters: [(String, UInt64, UInt64)] = [
            ("checkpoints", meta.number, CheckpointNumbers.writableLimit),
            ("commits", meta.commit, CheckpointNumbers.writableLimit),
            ("write ids", header.highWaterMark, CheckpointNumbers.writableLimit),
            ("generations of the header block", header.generation, CheckpointNumbers.writableLimit),
            (
                "log segments", max(header.newestSegment, meta.log.lsn / header.segmentBytes),
                SegmentHeader.numberLimit / 2
            ),
        ]
        return counters.first { $0.1 >= $0.2 }?.0
    }
}
