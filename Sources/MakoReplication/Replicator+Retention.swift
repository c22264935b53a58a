import MakoStorage

extension Replicator {
    /// Half of the least grace time. A writer that was silent for longer may create a number that retention has deleted.
    static let silence: Duration = .seconds(300)

    /// Reads the full backups of the branch.
    static func keptBackups(_ reader: BranchReader, through newest: UInt64) throws(ReplicationError) -> KeptBackups {
        var backups = KeptBackups()
        backups.mark = try reader.kept()
        for result in reader.headers(from: backups.mark?.number ?? 1, through: newest) {
            guard let header = try result.get() else { continue }
            backups.accept(header)
        }
        return backups
    }

    /// Raises the mark of retention, and deletes what was below it for the grace time.
    static func retain(
        _ backups: inout KeptBackups, _ retention: Retention, _ reader: BranchReader, now: UInt64
    ) throws(ReplicationError) {
        if let mark = backups.mark, !backups.isCleared {
            guard KeptBackups.mayDelete(mark, retention, now: now) else { return }
            try reader.clear(below: mark)
            backups.isCleared = true
        }
        guard let floor = backups.floor(retention, now: now), floor.number > backups.mark?.number ?? 1 else { return }
        // Before anything is deleted: readers begin at the mark.
        backups.mark = try reader.raise(to: RetentionMark(number: floor.number, commit: floor.commit, date: now))
        backups.isCleared = false
    }
}
