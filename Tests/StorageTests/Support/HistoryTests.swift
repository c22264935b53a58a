import MakoTestSupport
import Testing

/// Tests of the history checker: it accepts a serial history and names what is wrong with others.
@Suite struct HistoryTests {
    /// Two commits and a read of each, one after the other.
    private static var sound: History {
        var history = History(start: 10, initial: [1: 100])
        history.writes = [
            .init(
                began: 1, ended: 2, base: 10, seen: [1: 100], written: [1: 101, 2: 5], outcome: .acknowledged,
                isDurable: true),
            .init(
                began: 5, ended: 6, base: 11, seen: [2: 5, 3: nil], written: [2: nil], outcome: .acknowledged,
                isDurable: true),
            .init(began: 7, ended: 8, base: 12, seen: [2: nil], written: [1: 9], outcome: .rolledBack, isDurable: true),
        ]
        history.reads = [
            .init(began: 3, ended: 4, commit: 11, values: [1: 101, 2: 5]),
            .init(began: 9, ended: 10, commit: 12, values: [1: 101, 2: nil]),
        ]
        return history
    }

    @Test func aSerialHistoryPasses() {
        #expect(HistoryTests.sound.contradictions().isEmpty)
        #expect(HistoryTests.sound.state(at: 10) == [1: 100])
        #expect(HistoryTests.sound.state(at: 12) == [1: 101])
        #expect(HistoryTests.sound.state(at: 13) == nil)
        // A commit in progress at a crash may count or not.
        var history = HistoryTests.sound
        history.writes.append(
            .init(began: 11, ended: 12, base: 12, seen: [:], written: [1: 7], outcome: .unknown, isDurable: true))
        #expect(history.contradictions().isEmpty)
        #expect(history.state(at: 13) == [1: 7])
    }

    @Test(arguments: [
        "a lost update", "a gap", "a wrong value", "a value of a rollback", "a stale read", "a stale transaction",
        "a read of an unknown commit",
    ])
    func whatIsWrongIsNamed(fault: String) {
        var history = HistoryTests.sound
        switch fault {
        case "a lost update": history.writes[1].base = 10
        case "a gap": history.writes[1].base = 12
        case "a wrong value": history.reads[0].values[2] = 6
        case "a value of a rollback": history.reads[1].values[1] = 9
        case "a stale read": history.reads[1] = .init(began: 9, ended: 10, commit: 11, values: [1: 101])
        case "a stale transaction": history.writes[2] = history.writes[2].building(on: 11)
        default: history.reads[1].commit = 20
        }
        #expect(!history.contradictions().isEmpty)
    }
}

extension History.Write {
    fileprivate func building(on base: UInt64) -> Self {
        var write = self
        write.base = base
        write.seen = [:]
        return write
    }
}
