/// The numbers of a checkpoint held against each other: a page whose checksum is right may still say what no checkpoint says.
///
/// What contradicts itself is not used, because what is written on top of it would overwrite pages in use, give a number twice, or leave a
/// file that does not open again.
struct CheckpointNumbers {
    let header: FileHeader
    let meta: Meta

    /// Counters stay below this in a database that is written to: what they count up to is then below the limit of what is read.
    static let writableLimit: UInt64 = counterLimit / 2

    /// What the meta contradicts in the header; nil for nothing.
    var contradiction: String? {
        if meta.point >= header.ceiling || meta.directory.firstSerial >= header.ceiling {
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

    /// What the directory contradicts in the meta or the header; nil for nothing.
    func contradiction(in directory: Directory) -> String? {
        if let last = directory.trees.last, UInt64(last.id) >= meta.nextTreeID {
            return "tree \(last.id) is not below the number of the next tree, \(meta.nextTreeID)"
        }
        if directory.regions.contains(where: { $0.serial >= header.ceiling }) {
            return "a bitmap is of a time that the header block does not vouch for"
        }
        return nil
    }

    /// The counter that leaves no room for further commits; nil where all do.
    var exhausted: String? {
        let counters: [(String, UInt64, UInt64)] = [
            ("checkpoints", meta.number, CheckpointNumbers.writableLimit),
            ("commits", meta.commit, CheckpointNumbers.writableLimit),
            ("serials", header.ceiling, CheckpointNumbers.writableLimit),
            ("generations of the header block", header.generation, CheckpointNumbers.writableLimit),
            (
                "log segments", max(header.newestSegment, meta.log.lsn / header.segmentBytes),
                SegmentHeader.numberLimit / 2
            ),
        ]
        return counters.first { $0.1 >= $0.2 }?.0
    }
}
