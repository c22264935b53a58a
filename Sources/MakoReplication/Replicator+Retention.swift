import MakoStorage

extension Replicator {
    /// Half of the least grace time. A writer that was silent for longer may create a number that retention has deleted.
    static let silence: Duration = .seconds(300)

    /// The time between two attempts of retention, after a failure.
    static let retentionPause: Duration = .seconds(60)

    /// Why what is no longer kept was not deleted, or a damaged object that retention has passed by; nil after a success.
    ///
    /// Shipping and confirmation go on without it: the prefix grows meanwhile. The next shipment, after a minute at the earliest, tries it again.
    /// Where the object store refuses deletions (`s3:DeleteObject`), permit them, or set ``Options/retention`` to nil.
    public var retentionFailure: ReplicationError? { progress.retentionFailure }

    /// Reads the full backups of the branch. Objects that cannot be used are none of them.
    static func keptBackups(_ reader: BranchReader, through newest: UInt64) throws(ReplicationError) -> KeptBackups {
        var backups = KeptBackups()
        backups.mark = try reader.kept()
        let first = backups.mark?.number ?? 1
        for (number, result) in zip(first..., reader.headers(from: first, through: newest)) {
            do throws(ReplicationError) {
                if let header = try result.get() { backups.accept(header) }
            } catch {
                guard error.isOfUnusableObject else { throw error }
                backups.note(error, of: number)
            }
        }
        return backups
    }

    /// Raises the mark of retention, and deletes what was below it for the grace time.
    ///
    /// - Parameters:
    ///   - now: the time that minimums are counted by.
    ///   - clock: milliseconds since 1970.
    static func retain(
        _ backups: inout KeptBackups, _ retention: Retention, _ reader: BranchReader, now: UInt64, clock: UInt64
    ) throws(ReplicationError) {
        if let mark = backups.mark, !backups.isCleared {
            guard !RetentionClock.isAhead(mark.date, of: clock) else {
                // The grace time of a mark that was set by a clock which was ahead begins now.
                let dated = RetentionMark(number: mark.number, commit: mark.commit, date: clock)
                return backups.move(to: try reader.raise(to: dated))
            }
            guard KeptBackups.mayDelete(mark, retention, now: now) else { return }
            try reader.clear(below: mark)
            backups.noteCleared()
        }
        guard let floor = backups.floor(retention, now: now), floor.number > backups.mark?.number ?? 1 else { return }
        // Before anything is deleted: readers begin at the mark.
        backups.move(to: try reader.raise(to: RetentionMark(number: floor.number, commit: floor.commit, date: clock)))
    }
}
