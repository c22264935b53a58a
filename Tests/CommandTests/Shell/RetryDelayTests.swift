import Foundation
import Testing

@testable import MakoCommand

/// The repetition of commands that run until Ctrl-C.
@Suite struct RetryDelayTests {
    @Test(
        arguments: [
            (0.5, [1, 2, 4, 8, 16, 32, 60, 60]), (10, [20, 40, 60, 60]), (60, [60, 60]),
            // Never more often than without failures.
            (600, [600, 600]),
        ] as [(Double, [Double])])
    func eachFailureDoublesTheDelayUpToAMinute(interval: Double, delays: [Double]) {
        var delay = RetryDelay(interval: interval)
        #expect(delay.seconds == interval)
        for expected in delays {
            delay.double()
            #expect(delay.seconds == expected)
        }
        delay.reset()
        #expect(delay.seconds == interval)
    }

    #if Replication
        /// Nothing listens at the port, so that the object store cannot be opened. A request is repeated for two to three seconds before that is said.
        @Test(
            arguments: [
                ["replicate", "people.mako", "s3://bucket/a"], ["follow", "s3://bucket/a", "replica.mako"],
            ])
        func anOutageAtTheStartIsNoEnd(_ command: [String]) throws {
            let program = try BuiltProgram()
            try program.write("id,name\n1,Ada\n", to: "people.csv")
            #expect(try program.run(["import", "people.csv", "people.mako"]).status == 0)
            let arguments = command + ["--endpoint", "http://127.0.0.1:1", "--interval", "0.1"]
            let keys = ["AWS_ACCESS_KEY_ID": "a", "AWS_SECRET_ACCESS_KEY": "b"]
            let path = try temporaryPath("errors")
            let outcome = try program.run(arguments, environment: keys, errorPath: path) { process in
                for _ in 0..<600 where process.isRunning {
                    if let text = try? String(contentsOfFile: path, encoding: .utf8), text.hasSuffix("\n") { break }
                    Thread.sleep(forTimeInterval: 0.1)
                }
                process.interrupt()
            }
            #expect(outcome.status == SIGINT, "\(outcome)")
            #expect(outcome.errors.hasPrefix("mako: s3://bucket/a is not available: 127.0.0.1:1"), "\(outcome)")
            #expect(outcome.errors.contains("; the next attempt is in 0.2 seconds\n"), "\(outcome)")
            // Once, it is an error; so is a configuration that no other attempt corrects.
            let once = try program.run(arguments + ["--once"], environment: keys)
            #expect(once.status == 74 && once.errors.contains("the object store is not available"), "\(once)")
            let wrong = try program.run(arguments)
            #expect(wrong.status == 64 && wrong.errors.contains("AWS_ACCESS_KEY_ID"), "\(wrong)")
        }
    #endif
}
