/// What a run has done to its data: the states that it went through, and which of them a crash may leave behind at present.
///
/// The workload says when a change begins and when it is promised to last; the disk notes it with each moment at which the
/// power could go.
public final class CrashHistory<State> {
    /// A span of `states`: what may be found after a crash.
    public typealias Span = CrashSpan

    /// The data before the first change and after each.
    public private(set) var states: [State]
    /// The spans that the disk's `tag` refers to.
    public private(set) var spans: [CrashSpan]
    private let disk: SimulatedDisk

    /// Begins the history of a run.
    ///
    /// - Parameters:
    ///   - initial: the data before the run.
    ///   - disk: the disk of the run, which notes the present span with each call.
    public init(_ initial: State, on disk: SimulatedDisk) {
        self.disk = disk
        states = [initial]
        spans = [CrashSpan(acknowledged: 0, begun: 0)]
        disk.tag = 0
    }

    /// The present span.
    public var span: CrashSpan { spans[spans.count - 1] }

    /// A change is about to be made that leads to this state. Until it is acknowledged a crash may leave it or any state
    /// back to the last acknowledged one.
    public func begin(_ state: State) {
        states.append(state)
        var next = span
        next.begun = states.count - 1
        enter(next)
    }

    /// Everything that was begun has been written: it survives the end of the process, and not of the machine.
    public func noteWritten() {
        var next = span
        next.written = states.count - 1
        enter(next)
    }

    /// Everything that was begun has been promised to last.
    public func acknowledge() {
        enter(CrashSpan(acknowledged: states.count - 1, begun: states.count - 1))
    }

    /// A state, given by its index, was made durable and shown to others by a reader.
    public func show(_ index: Int) {
        var next = span
        next.shown = max(index, next.shown)
        next.written = max(index, next.written)
        enter(next)
    }

    /// This is what a restart within the run found. It was shown, so it lasts.
    public func found(_ state: State) {
        states.append(state)
        acknowledge()
    }

    private func enter(_ span: CrashSpan) {
        spans.append(span)
        disk.tag = spans.count - 1
    }
}

/// From the last state that was promised to last to the last that was begun, as indexes of a history's states.
public struct CrashSpan: Sendable, Hashable {
    /// The last state that was promised to last.
    public var acknowledged: Int
    /// The last state that readers have shown after they made it durable. It survives unless a sector is torn that the
    /// writer, which does not know of the readers, writes next.
    public var shown: Int
    /// The last state that was written to the files.
    public var written: Int
    /// The last state that was begun.
    public var begun: Int

    init(acknowledged: Int, begun: Int) {
        self.acknowledged = acknowledged
        shown = acknowledged
        written = acknowledged
        self.begun = begun
    }

    /// What may be found where no sector was torn.
    var untorn: CrashSpan { CrashSpan(acknowledged: shown, begun: begun) }
    /// What may be found when the process has ended, and the machine goes on.
    public var ofEndedProcess: CrashSpan { CrashSpan(acknowledged: written, begun: begun) }
}
