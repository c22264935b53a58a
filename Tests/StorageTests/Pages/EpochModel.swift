/// The algorithm of `Epochs` in small: threads of abstract steps over shared words, and what a processor may make of their order.
///
/// Words begin as: `epoch` 1, `entry` 1 (the page has a frame), `frame` 1 (the frame holds the page), `cellA` and `cellB` 0.
enum EpochWord: Int, CaseIterable { case epoch, entry, frame, cellA, cellB }

/// In which order the accesses of one thread become visible to others.
enum MemoryOrder: String, CaseIterable {
    /// In program order.
    case sequential
    /// x86: a store waits in a first-in first-out buffer while later loads read.
    case totalStore
    /// arm64 and weaker: whatever has no dependency, fence, acquire or release between it, and is not of one word, in any order: loads too, and
    /// stores leave their thread in any order. As on arm64 a store reaches all other threads at once.
    case weak
}

/// The action of a step. Each thread has its own registers.
enum EpochAction {
    case load(EpochWord, into: Int, acquires: Bool)
    case store(EpochWord, register: Int?, releases: Bool)
    /// Stores 0 and releases, of an atomic exchange.
    case clear(EpochWord)
    /// Adds 1, acquires and releases.
    case advance(EpochWord, into: Int)
    case fence
    /// The kernel's barrier, as far as it concerns one reader.
    case barrier(thread: Int)
    /// Reads the frame if the entry in a register marks the page as present: a frame that was reused is a violation.
    case use(entry: Int)
    /// Puts another page into the frame if the cells that were read allow it.
    case reuse(epoch: Int, cells: [Int])
}

/// One step of a thread, with the name by which the comments in the sources call it.
struct EpochStep {
    let name: String
    let action: EpochAction

    var word: EpochWord? {
        switch action {
        case .load(let word, _, _), .store(let word, _, _), .clear(let word), .advance(let word, _): word
        case .use, .reuse: .frame
        case .fence, .barrier: nil
        }
    }
    var writes: Int? {
        switch action {
        case .load(_, let register, _), .advance(_, let register): register
        default: nil
        }
    }
    var reads: [Int] {
        switch action {
        case .store(_, let register, _): register.map { [$0] } ?? []
        case .use(let entry): [entry]
        case .reuse(let epoch, let cells): [epoch] + cells
        default: []
        }
    }
    var isFence: Bool {
        switch action {
        case .fence, .barrier: true
        default: false
        }
    }
    var acquires: Bool {
        switch action {
        case .load(_, _, let acquires): acquires
        case .clear, .advance: true
        default: false
        }
    }
    var releases: Bool {
        switch action {
        case .store(_, _, let releases): releases
        case .clear, .advance: true
        default: false
        }
    }
}

/// A part of the algorithm that is left out or replaced; the model must notice it.
enum EpochChange: String, CaseIterable {
    case noReaderFence, noEvictorFence, noBarrier, barrierOfOneReader, relaxedLeave, noAnnouncement
}

/// Two readers and an evictor.
struct EpochModel {
    let threads: [[EpochStep]]

    /// - Parameters:
    ///   - hasProcessBarrier: the kernel's barrier in `retire`, and no fence in `enter`.
    ///   - operations: how many operations each reader has.
    init(hasProcessBarrier: Bool, operations: [Int] = [2, 1], change: EpochChange? = nil) {
        func reader(_ cell: EpochWord, operations: Int) -> [EpochStep] {
            (0..<operations).flatMap { operation -> [EpochStep] in
                let epoch = operation * 2
                let entry = operation * 2 + 1
                var steps = [EpochStep(name: "readEpoch", action: .load(.epoch, into: epoch, acquires: false))]
                if change != .noAnnouncement {
                    steps.append(EpochStep(name: "announce", action: .store(cell, register: epoch, releases: true)))
                }
                if !hasProcessBarrier && change != .noReaderFence {
                    steps.append(EpochStep(name: "readerFence", action: .fence))
                }
                return steps + [
                    EpochStep(name: "lookUp", action: .load(.entry, into: entry, acquires: true)),
                    EpochStep(name: "use", action: .use(entry: entry)),
                    EpochStep(
                        name: "leave", action: .store(cell, register: nil, releases: change != .relaxedLeave)),
                ]
            }
        }
        // An epoch has passed before, so that a reader may announce one that is over.
        var evictor = [
            EpochStep(name: "advance", action: .advance(.epoch, into: 3)),
            EpochStep(name: "unhook", action: .clear(.entry)),
        ]
        if hasProcessBarrier {
            if change != .noBarrier {
                evictor.append(EpochStep(name: "processBarrier", action: .barrier(thread: 0)))
                if change != .barrierOfOneReader {
                    evictor.append(EpochStep(name: "processBarrier", action: .barrier(thread: 1)))
                }
            }
        } else if change != .noEvictorFence {
            evictor.append(EpochStep(name: "evictorFence", action: .fence))
        }
        evictor.append(EpochStep(name: "advance", action: .advance(.epoch, into: 0)))
        evictor += [
            EpochStep(name: "scan", action: .load(.cellA, into: 1, acquires: true)),
            EpochStep(name: "scan", action: .load(.cellB, into: 2, acquires: true)),
            EpochStep(name: "reuse", action: .reuse(epoch: 0, cells: [1, 2])),
        ]
        threads = [reader(.cellA, operations: operations[0]), reader(.cellB, operations: operations[1]), evictor]
    }
}
