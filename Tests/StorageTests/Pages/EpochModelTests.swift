import Foundation
import Testing

@testable import MakoStorage

/// A model of the epochs and their fences, in every order that a processor may execute.
@Suite struct EpochModelTests {
    struct Case: CustomTestStringConvertible {
        var order: MemoryOrder
        var hasProcessBarrier: Bool
        var testDescription: String { "\(order.rawValue), \(hasProcessBarrier ? "process barrier" : "fences")" }
    }
    static let cases = MemoryOrder.allCases.flatMap { order in
        [true, false].map { Case(order: order, hasProcessBarrier: $0) }
    }

    @Test(arguments: cases) func noFrameIsReusedWhileAReaderHoldsIt(_ tried: Case) {
        let model = EpochModel(hasProcessBarrier: tried.hasProcessBarrier)
        let report = EpochExplorer(model, tried.order).run()
        #expect(report.violation == nil, "\(report)")
        #expect(report.states > 1000 && report.reuses > 100, "\(report)")
        if TestEffort.isChatty { print("\(tried.testDescription): \(report)") }
    }

    /// Proves that the model can fail: each change, with the weakest memory order in which it is harmless.
    @Test(arguments: [
        (EpochChange.noReaderFence, false, MemoryOrder.sequential), (.noEvictorFence, false, .totalStore),
        (.noBarrier, true, .sequential), (.barrierOfOneReader, true, .sequential), (.relaxedLeave, false, .totalStore),
        (.relaxedLeave, true, .totalStore),
    ])
    func aFenceLeftOutIsFound(_ change: EpochChange, _ hasProcessBarrier: Bool, _ harmless: MemoryOrder) {
        let model = EpochModel(hasProcessBarrier: hasProcessBarrier, change: change)
        var isHarmless = true
        for order in MemoryOrder.allCases {
            let report = EpochExplorer(model, order).run()
            #expect((report.violation == nil) == isHarmless, "\(change) in \(order): \(report)")
            if order == harmless { isHarmless = false }
        }
    }

    @Test func anAnnouncementLeftOutIsFoundInAnyOrder() {
        for order in MemoryOrder.allCases {
            let model = EpochModel(hasProcessBarrier: false, change: .noAnnouncement)
            #expect(EpochExplorer(model, order).run().violation != nil)
        }
    }

    #if os(Linux)
        /// An environment variable selects the path without a process barrier, the only one on Apple systems.
        @Test func theEnvironmentTurnsTheProcessBarrierOff() {
            let isOff = !(ProcessInfo.processInfo.environment["MAKO_NO_PROCESS_BARRIER"] ?? "").isEmpty
            // Some sandboxes have no such barrier at all.
            #expect(!isOff || !Epochs.hasProcessBarrier)
        }
    #endif

    /// Model and sources name the same steps.
    @Test func theSourcesNameTheSteps() throws {
        let folder = URL(fileURLWithPath: #filePath).deletingLastPathComponent()
            .appendingPathComponent("../../../Sources/MakoStorage/Pages")
        var text = ""
        for file in ["Epochs.swift", "FrameStore+Reading.swift", "FrameStore+Eviction.swift"] {
            text += try String(contentsOf: folder.appendingPathComponent(file), encoding: .utf8)
        }
        let models = [EpochModel(hasProcessBarrier: false), EpochModel(hasProcessBarrier: true)]
        let names = Set(models.flatMap { $0.threads.flatMap { $0.map { $0.name } } })
        let named = Set(
            text.matches(of: #/Model: (\w+)(, (\w+))*/#).flatMap { match in
                match.0.dropFirst("Model: ".count).split(separator: ", ").map(String.init)
            })
        #expect(named == names)
    }
}
