import Foundation
import Mako
import TestHelpers
import Testing

/// Structs in objects under many threads; made for the thread sanitizer.
@Suite struct ObjectValueConcurrencyTests {
    private typealias Lake = Holding.Lake
    private typealias Bear = Holding.Bear

    /// A commit neither loses what another thread assigns meanwhile, nor stores anything twice.
    @Test func assignmentsBesideCommitsAreStoredOnce() throws {
        let db = try makeDatabase([Bear.self])
        let bear = Bear(name: "Bruno")
        try db.save(bear)
        let writers = (0..<2).map { writer in
            ThreadRun {
                for round in 0..<300 {
                    if writer == 0 {
                        bear.lake = Lake(name: "lake \(round)")
                    } else {
                        bear.swims = [Lake(name: "swim \(round)"), Lake(name: "other \(round)")]
                    }
                }
            }
        }
        let errors = Collected<String>()
        let committer = ThreadRun {
            for _ in 0..<100 { do { try db.save(bear) } catch { errors.append("\(error)") } }
        }
        let reader = ThreadRun { for _ in 0..<300 { _ = bear.lake?.name.count ?? bear.swims.count } }
        for thread in writers + [committer, reader] { thread.wait() }
        #expect(errors.all.isEmpty)
        try db.save(bear)
        #expect(bear.lake?.name == "lake 299" && bear.swims.map(\.name) == ["swim 299", "other 299"])
        let read = try #require(try db.find(Bear.self, 1))
        #expect(read.lake == bear.lake && read.swims == bear.swims)
        let names = try db.query(Lake.self).fetch().map(\.name)
        #expect(Set(names).count == names.count)
    }

    /// Loading gives way to an assignment.
    @Test func loadsNeverReplaceWhatWasAssigned() throws {
        let db = try makeDatabase([Bear.self])
        try db.save(Bear(name: "Bruno", lake: Lake(name: "stored")))
        for _ in 0..<100 {
            let bear = try #require(try db.find(Bear.self, 1))
            let reader = ThreadRun { _ = bear.lake }
            let writer = ThreadRun { bear.lake = Lake(name: "assigned") }
            reader.wait()
            writer.wait()
            #expect(bear.lake?.name == "assigned")
        }
    }
}
